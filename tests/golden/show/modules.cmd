show module_tree.pftrace
