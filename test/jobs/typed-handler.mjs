/** A handler in a module of its own; typed-handler.d.mts declares its types. */
export default (_ctx, { code }) => ({ length: code.length })
