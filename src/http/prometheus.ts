/**
 * Metrics as Prometheus reads them (text format 0.0.4). Ours come from the database with their buckets counted, so there is
 * nothing here that would keep a registry.
 *
 * Invariant: whatever a label holds, a line stays a line; of two families with one name only the first is told.
 */
import type { MetricFamily, MetricSample } from '../core/metric.ts'

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'

export function prometheusText(families: readonly MetricFamily[]): string {
  const told = new Set<string>()
  const lines: string[] = []
  for (const { name, help, type, samples } of families) {
    if (told.has(name)) continue
    told.add(name)
    lines.push(`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`)
    for (const sample of samples) lines.push(lineOf(name, sample))
  }
  return `${lines.join('\n')}\n`
}

function lineOf(name: string, { labels = {}, value, of }: MetricSample): string {
  const given = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`)
  return `${name}${of === undefined ? '' : `_${of}`}${given.length === 0 ? '' : `{${given.join(',')}}`} ${numberOf(value)}`
}

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

const numberOf = (value: number) =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
