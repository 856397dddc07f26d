show no_inner_detail.etdp --events --format csv
