"""Who is at the other end of a session, as far as the connection tells."""

from ipaddress import IPv6Network, ip_address

from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

HOUSEHOLD = 64
"""Bits of an IPv6 address that are one customer's; of the rest he has as many as he likes."""


def session() -> str:
    """The session whose page is being drawn; "" outside of one."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def is_open(session: str) -> bool:
    """Whether a tab shows this session; always, where there is no server that knows."""
    return not exists() or get_instance().is_active_session(session)


def address(session: str) -> str:
    """Where a session comes from, as `household` has it; "" where that is not known."""
    client = get_instance().get_client(session)
    remote = client.client_context.remote_ip if client and client.client_context else None
    return household(remote) if isinstance(remote, str) else ""


def household(remote: str) -> str:
    """An address of the network, of IPv6 the part that is one customer's."""
    try:
        found = ip_address(remote.partition("%")[0])
    except ValueError:
        return remote
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(IPv6Network((int(found), HOUSEHOLD), strict=False))
