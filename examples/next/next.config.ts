/** Retoma runs as it is installed: it starts threads from its own files. */
export default { serverExternalPackages: ['retoma'] }
