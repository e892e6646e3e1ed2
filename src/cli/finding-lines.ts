/** What the watchdog has found and only reports, one line each. */
import type { FindingView } from '../index.ts'
import { systemClock } from '../lib/clock.ts'
import { ago } from './times.ts'
import type { Voice } from './voice.ts'

const most = 20

export function findingLines(findings: readonly FindingView[], { word, language }: Voice): string[] {
  if (findings.length === 0) return []
  const now = systemClock.now()
  const { watch } = word
  const text = (fact: unknown): string => String(fact ?? '')
  const lines = findings.slice(0, most).map(({ verdict, since, facts }) => {
    const when = ago(since, now, language)
    switch (verdict) {
      case 'hung':
        return watch.hung(text(facts.worker), facts.job === null ? null : text(facts.job), when)
      case 'slow':
        return watch.slow(text(facts.job), text(facts.kind), when)
      case 'starved':
        return watch.starved(text(facts.queue), text(facts.kind), facts.noWorker === true, when)
    }
  })
  return [watch.findings, ...lines.map(line => `  ${line}`), ...(findings.length > most ? ['  …'] : [])]
}
