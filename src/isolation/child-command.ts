/** Gives the entry file of a child, and the Node options for a child process. */

// Only our own tests run the TypeScript sources, and Node 20 cannot load TypeScript: tests start the built file.
export const childEntry = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/isolation/child/entry.js' : './child/entry.js',
  import.meta.url,
)

/** The Node options of this process, so that a child has the same loader; without options that concern this process only. */
export function processArguments(memoryBytes: number | null): string[] {
  const own: string[] = []
  for (let at = 0; at < process.execArgv.length; at++) {
    const argument = process.execArgv[at]!
    if (/^(-e|-p|--eval|--print)$/.test(argument)) at++
    else if (!/^(--inspect|--input-type|--eval|--print|--watch|--test|-i$|-pe$|--interactive)/.test(argument))
      own.push(argument)
  }
  const heap = memoryBytes === null ? [] : [`--max-old-space-size=${Math.floor(memoryBytes / 1024 / 1024)}`]
  return [...own, ...heap]
}
