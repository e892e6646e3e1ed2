/** Next.js must not bundle Retoma, because Retoma starts threads from the installed files. */
export default { serverExternalPackages: ['retoma'] }
