/** An empty config, so vitest does not use the config of the checkout above. */
export default {}
