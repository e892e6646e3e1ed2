/** Holds a child process of `ctx.isolated` until the server answers, for isolated-pages.test.ts. */
export default async url => (await fetch(url)).status
