show late_device.etdp
