/** How the other side is started: its file, and what Node must be told to run it. */

// Sources are run by our own tests alone, and Node 20 cannot read them: what a test starts is what was built from them.
export const childEntry = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/child/entry.js' : '../child/entry.js',
  import.meta.url,
)

/** As this process was started, so that a loader it was given is there too; without what is this one's alone. */
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
