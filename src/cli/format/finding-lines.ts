/** Formats the findings of the watchdog, with a line each. */
import type { FindingView } from '../../index.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Output } from '../output.ts'
import { ago } from './relative-time.ts'

const most = 20

export function findingLines(findings: readonly FindingView[], output: Output): string[] {
  if (findings.length === 0) return []
  const lines = findings.slice(0, most).map(each => `  ${sentence(each, output)}`)
  return [output.word.watch.findings, ...lines, ...(findings.length > most ? ['  …'] : [])]
}

function sentence({ verdict, since, facts }: FindingView, { word: { watch }, language }: Output): string {
  const when = ago(since, systemClock.now(), language)
  switch (verdict) {
    case 'hung':
      return watch.hung(text(facts.worker), facts.job === null ? null : text(facts.job), when)
    case 'slow':
      return watch.slow(text(facts.job), text(facts.kind), when)
    case 'starved':
      return watch.starved(text(facts.queue), text(facts.kind), facts.noWorker === true, when)
  }
}

const text = (fact: unknown): string => String(fact ?? '')
