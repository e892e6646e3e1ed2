/** Turns the crash of a child into the failure of its job: a sentence, the stack if known, and the evidence. */

import { type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import type { Evidence } from '../jobs/model/outcome.ts'
import { asText, cleanText } from '../lib/values/json.ts'
import type { ChildExit } from './child.ts'
import type { Nature } from './child-protocol.ts'
import { unpackError } from './error-wire.ts'

export interface Crash {
  thrown: RetomaError
  evidence: Evidence
  crash: { how: LocalizedText; outOfMemory: boolean }
}

export const placeName = (nature: Nature): LocalizedText =>
  nature.isolation === 'process' ? localized('process', 'processo') : localized('thread', 'thread')

/** `killed`: the parent killed the child because the child did not end after its signal. */
export function crashOf(remains: ChildExit, nature: Nature, killed: boolean): Crash {
  const cause = causeOf(remains)
  const how = howOf(remains, nature, killed)
  const facts = { place: placeName(nature), how }
  const thrown = new RetomaError('child_crashed', facts, cause === undefined ? {} : { cause })
  const { signal, exitCode, memoryBytes, stderr } = remains
  return {
    thrown,
    evidence: { signal, exitCode, memoryBytes, stderr: stderr === '' ? null : cleanText(stderr) },
    crash: { how, outOfMemory: isOfMemory(remains) },
  }
}

function howOf(remains: ChildExit, nature: Nature, killed: boolean): LocalizedText {
  const { signal, exitCode, words, error } = remains
  if (isOfMemory(remains)) return overMemory(nature)
  if (words?.how === 'uncaught') {
    const text = asText(unpackError(words.error))
    return localized(`an error that nobody caught: ${text}`, `um erro que ninguém tratou: ${text}`)
  }
  if (words?.how === 'exit')
    return localized(`it called process.exit(${words.code})`, `chamou process.exit(${words.code})`)
  if (killed)
    return localized(
      'it was killed, because it had not ended within its grace',
      'foi morto, porque não terminou dentro da tolerância',
    )
  if (signal !== null) return localized(signal, signal)
  if (error !== undefined) return localized(asText(error), asText(error))
  return localized(`exit code ${exitCode}`, `código de saída ${exitCode}`)
}

function overMemory({ memoryBytes }: Nature): LocalizedText {
  if (memoryBytes === null) return localized('it ran out of memory', 'ficou sem memória')
  const most = `${Math.round(memoryBytes / 1024 / 1024)} MB`
  return localized(`it went over its memory of ${most}`, `passou da sua memória de ${most}`)
}

/** Reported by the child's memory watch, by V8 at the crash, or by Node for a thread. */
const isOfMemory = ({ words, stderr, signal, error }: ChildExit): boolean =>
  words?.how === 'memory' ||
  (error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY' ||
  (signal === 'SIGABRT' && /heap out of memory|Reached heap limit|invalid table size/i.test(stderr))

/** The cause, with a stack that shows the place. */
function causeOf({ words, error }: ChildExit): unknown {
  if (words?.how === 'uncaught') return unpackError(words.error)
  if (words?.how !== 'exit') return error
  const exit = new Error(`process.exit(${words.code})`)
  exit.stack = words.stack
  return exit
}
