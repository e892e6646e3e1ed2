export default { test: { testTimeout: 300_000 } }
