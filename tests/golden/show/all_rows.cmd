show no_inner_detail.etdp --all
