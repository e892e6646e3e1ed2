/** Gives the entry file of a child, and the Node options for a child process. */

import { builtModule } from '../lib/package-root.ts'

export const childEntry = builtModule('isolation/child/entry.js')

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
