show module_tree.pftrace --format csv
