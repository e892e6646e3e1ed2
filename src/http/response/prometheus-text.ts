/**
 * Prints metrics in the text format 0.0.4 of Prometheus. The engine's metrics come from the database with counted buckets, so no registry
 * is needed here.
 *
 * Invariant: any label value stays on its line; of two families with the same name only the first is printed.
 */
import type { MetricFamily, MetricSample } from '../../metrics/model/metric-table.ts'

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'

export function prometheusText(families: readonly MetricFamily[]): string {
  const described = new Set<string>()
  const lines: string[] = []
  for (const { name, help, type, samples } of families) {
    if (described.has(name)) continue
    described.add(name)
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
