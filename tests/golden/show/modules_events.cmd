show module_tree.pftrace --events
