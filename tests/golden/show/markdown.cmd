show no_inner_detail.etdp --format markdown
