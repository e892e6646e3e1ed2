/** Alerts and dashboards use only existing metrics, and every alert has an entry in the runbook. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { quotes } from '../../apps/quotes/index.ts'
import { readQuotesSettings } from '../../apps/quotes/settings.ts'
import { minutes } from '../../src/index.ts'
import { processMetrics, systemMetrics } from '../../src/metrics/model/metric-table.ts'
import { doorWith } from '../http/support.ts'
import { sqlOf } from '../support/events.ts'
import { promtool } from '../support/promtool.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const rules = read('ops/prometheus/alerts.yml')
const ruleTests = read('ops/prometheus/alerts.test.yml')
const runbooks = [read('docs/operations-alerts.md'), read('docs/operations-alerts.pt-BR.md')]
const alerts = [...rules.matchAll(/- alert: (\w+)\n([\s\S]*?)(?=\n\n|\n {2}- name|$)/g)].map(
  ([, name = '', text = '']) => ({ name, text }),
)

/** They come with their app. */
const ofApps = ['retoma_quotes_processing', 'retoma_quotes_stuck', 'retoma_quotes_avg_processing_seconds']

test('HighStuckQuotes and SlowProcessing have the thresholds of the seed, on the metrics that the quotes report', async () => {
  const exprOf = (name: string) => /expr: (.*)/.exec(alerts.find(alert => alert.name === name)!.text)![1]
  expect(exprOf('HighStuckQuotes')).toBe('max(retoma_quotes_stuck) > 10')
  expect(exprOf('SlowProcessing')).toBe('max(retoma_quotes_avg_processing_seconds) > 120')
  const { ask } = await doorWith([], { systems: [quotes({ settings: readQuotesSettings({}) })] })
  const { body } = await ask('GET', '/metrics')
  for (const name of ofApps) expect(body).toContain(`# TYPE ${name} gauge`)
})

const namesIn = (text: string) =>
  [...new Set(text.match(/\b(?:retoma|process|nodejs)_[a-z_]+/g))].map(name =>
    name.replace(/_(?:bucket|sum|count)$/, ''),
  )

async function reported(): Promise<string[]> {
  const { ask } = await doorWith()
  const { body } = await ask('GET', '/metrics')
  return [...String(body).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
}

test('every metric that an alert stands on is in /metrics, or comes with its app', async () => {
  const used = namesIn(rules.replace(/^\s*#.*$/gm, ''))
  expect(used.length).toBeGreaterThan(10)
  const there = [...(await reported()), ...ofApps]
  expect(used.filter(name => !there.includes(name))).toEqual([])
})

test('the dashboard is JSON, its panels have room, and every metric of it is in /metrics', async () => {
  const dashboard = JSON.parse(read('ops/grafana/retoma.json')) as {
    panels: { id: number; gridPos: { x: number; w: number }; targets?: { expr: string }[] }[]
  }
  const { panels } = dashboard
  expect(new Set(panels.map(panel => panel.id)).size).toBe(panels.length)
  expect(panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([])
  const there = [...(await reported()), ...ofApps]
  const used = namesIn(panels.flatMap(panel => panel.targets?.map(target => target.expr) ?? []).join('\n'))
  expect(used.filter(name => !there.includes(name))).toEqual([])
  expect(used).toEqual(expect.arrayContaining(ofApps))
})

test('the dashboard is in English', () => {
  const texts = [...read('ops/grafana/retoma.json').matchAll(/"(?:title|description|label|legendFormat)": "([^"]*)"/g)]
  expect(
    texts.map(([, text = '']) => text).filter(text => /[^ -~]|\b(?:por|fila|filas|espera|atraso)\b/i.test(text)),
  ).toEqual([])
})

test('the page on metrics lists every one, and no other', () => {
  const listed = [...read('docs/metrics.md').matchAll(/^\| `(\w+_\w+)` \|/gm)].map(([, name]) => name)
  const there = [...Object.values(systemMetrics), ...Object.values(processMetrics)].map(metric => metric.name)
  expect(listed.toSorted()).toEqual(there.toSorted())
})

describe.each(alerts)('the alert $name', ({ name, text }) => {
  test('says how bad it is, in one sentence in English and one in Portuguese, and where to read on', () => {
    expect(text).toMatch(/severity: (warning|critical)\n/)
    expect(text).toMatch(/summary: "[ -~]+"\n *summary_pt: ".+"\n/)
    expect(text).toContain(`runbook: docs/operations-alerts.md#${name.toLowerCase()}`)
    const severity = /severity: (\w+)/.exec(text)?.[1]
    for (const runbook of runbooks) expect(runbook).toContain(`### ${name}\n\n*${severity}* · `)
    expect(read('docs/operations.md')).toContain(`\n| [${name}](operations-alerts.md#${name.toLowerCase()}) | `)
  })

  test('is seen to fire and not to', () => {
    const cases = ruleTests.split('alertname: ').filter(each => each.startsWith(`${name}\n`))
    expect(cases.some(each => each.includes('exp_alerts: []'))).toBe(true)
    expect(cases.some(each => each.includes('exp_labels:'))).toBe(true)
  })
})

test('there are the three alerts of the quotes', () => {
  expect(alerts.map(each => each.name)).toEqual(
    expect.arrayContaining(['HighStuckQuotes', 'SlowProcessing', 'WorkerHealthCheck']),
  )
  expect(alerts).toHaveLength(17)
})

test.skipIf(promtool === undefined)('promtool takes the rules, and their unit tests pass', () => {
  const cwd = new URL('../../ops/prometheus/', import.meta.url)
  for (const args of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync(promtool!, args, { cwd, encoding: 'utf8' })
    expect(status, stdout + stderr).toBe(0)
  }
})

test('WorkerHealthCheck is critical, fires after 15 minutes without a heartbeat, and not before', async () => {
  const { text } = alerts.find(each => each.name === 'WorkerHealthCheck')!
  expect(text).toContain('severity: critical')
  // The rule's own numbers, on what /metrics really says.
  const [, metric, seconds, absentMetric, window] =
    /expr: min\((\w+)\) > (\d+) or absent_over_time\((\w+)\[(\w+)\]\)/.exec(text)!
  expect([seconds, absentMetric, window]).toEqual(['900', metric, '15m'])
  const { ask, engine, clock, databaseUrl } = await doorWith()
  await (await sqlOf({ databaseUrl }))(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
     select id, 'h', 1, '0', '{}', '{}', at, at from (values ('early', -60), ('late', 0)) as w (id, ago),
       lateral (select '${clock.now().toISOString()}'::timestamptz + make_interval(secs => ago) as at) t`,
  )
  expect(await engine.workers.list()).toHaveLength(2)
  const fires = async () => {
    const { body } = await ask('GET', '/metrics')
    const ages = [...String(body).matchAll(new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(found =>
      Number(found[1]),
    )
    expect(ages).toHaveLength(2)
    return Math.min(...ages) > Number(seconds)
  }
  expect(await fires()).toBe(false)
  await clock.advance(minutes(14.9))
  expect(await fires()).toBe(false)
  await clock.advance(minutes(0.2))
  expect(await fires()).toBe(true)
})
