"""From a model and a prompt to a result: choosing, asking, waiting, stopping.

picker          which model is measured
preview         a model that was not measured before
compute         from a request to its result
several         several measurements that one figure needs
listing         a list of prompts, as one job
lean            the results of one in memory
queue           the queue, seen from a session
watch           a job under way
jobs_list       the queue as a list
"""
