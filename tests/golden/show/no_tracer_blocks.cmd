show no_tracer_blocks.etdp
