/** Formats the evidence of a crash for a person: the end of the process in one line, then the last lines of stderr. */
import { megabytes } from '../../lib/values/bytes.ts'
import type { CliMessages } from '../messages/index.ts'
import { brief } from './text-table.ts'

export function evidenceLines(
  evidence: Readonly<Record<string, unknown>> | null,
  { jobs }: CliMessages,
  most: number,
  width = Number.POSITIVE_INFINITY,
): string[] {
  if (evidence === null) return []
  const { signal, exitCode, memoryBytes, stderr } = evidence
  const facts = [
    ...(typeof signal === 'string' ? [jobs.evidence.signal(signal)] : []),
    ...(typeof exitCode === 'number' ? [jobs.evidence.exitCode(exitCode)] : []),
    ...(typeof memoryBytes === 'number' ? [jobs.evidence.memory(Math.round(memoryBytes / megabytes(1)))] : []),
  ]
  const tail = typeof stderr === 'string' && stderr.trim() !== '' ? stderr.trimEnd().split('\n').slice(-most) : []
  return [
    ...(facts.length > 0 ? [facts.join(', ')] : []),
    ...(tail.length > 0 ? [jobs.evidence.stderr, ...tail.map(line => `  ${brief(line, width)}`)] : []),
  ]
}
