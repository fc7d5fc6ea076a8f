package protocol_test

func badImageSetups() []badInput {
	return []badInput{
		{name: "setup without a digest",
			config: `{"image_ref": {"image": "a", "setup": {"config_map": "kt-image-train"}}}`,
			at:     "image_ref.setup.digest",
			text:   "Must set a configuration value for the image_ref.setup.digest attribute"},
		{name: "setup without a ConfigMap", config: `{"image_ref": {"image": "a", "setup": {"digest": "abc"}}}`,
			at: "image_ref.setup.config_map", text: "Must set a configuration value"},
		{name: "image_ref without a setup", config: `{"image_ref": {"image": "a"}}`,
			at: "image_ref.setup", text: "Must set a configuration value"},
		{name: "image_ref without an image", config: `{"image_ref": {"setup": {"config_map": "c", "digest": "d"}}}`,
			at: "image_ref.image", text: "Must set a configuration value"},
		{name: "image_ref and image", config: `{"image": "a", "image_ref": {"image": "a",
			"setup": {"config_map": "c", "digest": "d"}}}`,
			at: "image_ref", text: `Attribute "image" cannot be specified when "image_ref" is specified`},
		{name: "setup with a bad ConfigMap", config: `{"image_ref": {"image": "a", "setup": {"config_map": "Kt_Image",
			"digest": "abc"}}}`, at: "image_ref.setup.config_map", text: `Did you mean "kt-image"?`},
		{name: "setup with an empty ConfigMap", config: `{"image_ref": {"image": "a",
			"setup": {"config_map": "", "digest": "abc"}}}`,
			at: "image_ref.setup.config_map", text: "image_ref.setup.config_map is empty"},
		{name: "setup with an empty digest", config: `{"image_ref": {"image": "a",
			"setup": {"config_map": "kt-image-train", "digest": ""}}}`,
			at: "image_ref.setup.digest", text: "must be at least 1, got: 0"},
		{name: "setup with a relative python_path", config: `{"image_ref": {"image": "a",
			"setup": {"config_map": "c", "digest": "abc", "python_path": "bin/python3"}}}`,
			at: "image_ref.setup.python_path", text: `image_ref.setup.python_path is "bin/python3", a relative path`},
		{name: "setup with an empty install_cmd", config: `{"image_ref": {"image": "a",
			"setup": {"config_map": "c", "digest": "abc", "install_cmd": ""}}}`,
			at: "image_ref.setup.install_cmd", text: "must be at least 1, got: 0"},
		{name: "volume over the set-up", config: `{"image_ref": {"image": "a",
			"setup": {"config_map": "c", "digest": "abc"}},
			"volumes": [{"claim_name": "c", "mount_path": "/etc/kubetorch/image"}]}`,
			at: "volumes[0].mount_path",
			text: "volumes[0].mount_path is /etc/kubetorch/image, where the setup of the image is already mounted: " +
				"use another path."},
	}
}

func badLogging() []badInput {
	return []badInput{
		{name: "grace period in words", config: `{"logging_config": {"grace_period": "two seconds"}}`,
			at: "logging_config.grace_period", text: `is "two seconds", which is not a duration`},
		{name: "negative poll timeout", config: `{"logging_config": {"poll_timeout": "-1s"}}`,
			at:   "logging_config.poll_timeout",
			text: "logging_config.poll_timeout is \"-1s\", but must not be negative"},
		{name: "empty grace period at the end", config: `{"logging_config": {"shutdown_grace_period": ""}}`,
			at: "logging_config.shutdown_grace_period", text: "logging_config.shutdown_grace_period is empty"},
		{name: "unknown unit of the grace period", config: `{"logging_config": {"grace_period": "2w"}}`,
			at: "logging_config.grace_period", text: `is "2w", which is not a duration`},
		{name: "level by its number", config: `{"logging_config": {"level": "10"}}`,
			at: "logging_config.level", text: `got: "10"`},
	}
}
