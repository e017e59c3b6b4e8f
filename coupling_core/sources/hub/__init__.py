"""Models of the hub: which commit a name stands for, what fetching it costs, and fetching it.

    cache      what the local cache holds, read from its folders: works offline
    asking     the hub's refusals in plain words, each with its remedy
    nearest    many names of revisions in few words
    naming     from a branch or tag to its commit, and which there are
    planning   what it takes to have a commit's files here
    fetching   bringing them here
    blobs      one large file, in parts that survive a stop
    releasing  taking weights off this disk again

Only the parts that ask the hub import its client, and only when they ask.
"""

from coupling_core.sources.hub.cache import names as cached
from coupling_core.sources.hub.cache import snapshot
from coupling_core.sources.hub.fetching import download
from coupling_core.sources.hub.naming import Revision, commit, revisions
from coupling_core.sources.hub.planning import Download, RemoteFile, config, plan
from coupling_core.sources.hub.releasing import remove_weights, weights_here, weights_since
