show no_inner_detail.etdp --input-unit us
