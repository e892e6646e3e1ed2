/** Large tables of visits, in the process that reads them, with its memory. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { megabytes } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { workbookOf } from './zips.ts'

const rows = 500_000
const reader = new URL('../dist/demand/read.js', import.meta.url)

/** Reads the file in a process of its own; `peak`: its most memory in bytes. */
function readIn(path: string): { demand: { rows: number; visits: number }; peak: number } {
  const program = `
    import read from ${JSON.stringify(reader.href)}
    const { demand } = await read({ path: ${JSON.stringify(path)} })
    console.log(JSON.stringify({ demand, peak: process.resourceUsage().maxRSS * 1024 }))`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }))
}

test('500,000 rows of a CSV file and of a workbook are read as a stream, in a process below 200 MB', () => {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-extract-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const two = (number: number) => String(number).padStart(2, '0')
  const line = (n: number) => `${two((n % 28) + 1)}/03/2030;${two(n % 24)}:30;2;"loja ""${n % 50}"", centro"\n`
  const files = {
    csv: `data;hora;visitas;loja\n${Array.from({ length: rows }, (_, n) => line(n)).join('')}`,
    // 47,543 is 1 March 2030.
    xlsx: workbookOf([
      ['data', 'hora', 'visitas'],
      ...Array.from({ length: rows }, (_, n) => [47_543 + (n % 28), (n % 24) / 24, 2]),
    ]),
  }
  for (const [format, bytes] of Object.entries(files)) {
    const path = join(folder, `visitas.${format}`)
    writeFileSync(path, bytes)
    const { demand, peak } = readIn(path)
    expect(demand).toMatchObject({ format, rows, visits: 2 * rows, from: '2030-03-01', to: '2030-03-28' })
    expect(peak).toBeLessThan(megabytes(200))
  }
})
