/** The path at which the dashboard is mounted, without a trailing slash: the server writes it as <base href> into the page. */
export const basePath: string = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** An address below the base path. `path` begins with a slash. */
export const withBase = (path: string): string => `${basePath}${path}`
