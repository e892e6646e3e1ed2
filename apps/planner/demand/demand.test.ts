/** Tables of visits as people send them: encodings, delimiters, dates, numbers, workbooks; and what is dropped and why. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { type CellValue, workbookOf, zipOf } from '../test/zips.ts'
import read, { type ReadDemand } from './read.ts'
import { readDate, readHour, readInstant, readNumber, readSerial } from './values.ts'

const folder = mkdtempSync(join(tmpdir(), 'retoma-demand-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
async function demandOf(bytes: string | Uint8Array): Promise<ReadDemand> {
  const path = join(folder, String(files++))
  writeFileSync(path, bytes)
  return read({ path })
}

const counted = async (bytes: string | Uint8Array) => {
  const answer = await demandOf(bytes)
  if (!('demand' in answer)) throw new Error(JSON.stringify(answer))
  return answer.demand
}

const monday9 = [{ weekday: 1, hour: 9, visits: 3, average: 3 }]

test.each([
  ['semicolons', 'data;hora;visitas\n04/03/2030;09:10;3\n', { delimiter: ';', encoding: 'utf-8' }],
  ['commas and quotes', '"Data","Hora","Visitas"\r\n"04/03/2030","9:59","3"\r\n', { delimiter: ',' }],
  ['tabulators', 'date\ttime\tcount\n2030-03-04\t09:00:59\t3', { delimiter: '\t' }],
  ['a mark', '\ufeffDATA;HORÁRIO;QTD\n4/3/2030;9h;3\n', { delimiter: ';' }],
  [
    'Latin-1',
    Buffer.from('data;horário;visitas;observação\n04/03/2030;09:00;3;reunião\n', 'latin1'),
    { encoding: 'windows-1252' },
  ],
  ['UTF-16', Buffer.from('\ufeffdata;hora;visitas\n04/03/2030;09:00;3\n', 'utf16le'), { encoding: 'utf-16le' }],
  [
    'UTF-16 without a mark',
    Buffer.from('data;hora;visitas\n04/03/2030;09:00;3\n', 'utf16le'),
    { encoding: 'utf-16le' },
  ],
  ['one column for both', 'Data e hora;Clientes\n04/03/2030 09:00;3\n', {}],
  ['ISO instants', 'timestamp,people\n2030-03-04T09:15:00-03:00,3\n', {}],
  ['no column of counts', 'data;hora\n04/03/2030;9\n04/03/2030;9\n04/03/2030;9:30\n', {}],
  ['a title and empty rows', 'Relatório de visitas\n\n;;\ndata;hora;visitas\n\n04/03/2030;9;3\n', {}],
  ['old line ends', 'data;hora;visitas\r04/03/2030;9;3\r', {}],
  [
    'a title, and commas in the table',
    'Relatório de visitas\n\ndata,hora,visitas\n04/03/2030,9,3\n',
    { delimiter: ',' },
  ],
  [
    'titles with commas and cells',
    'Loja 1, Centro\nmarço;2030\ndata;hora;visitas\n04/03/2030;9;3\n',
    { delimiter: ';' },
  ],
  ['bars', 'data|hora|visitas\n04/03/2030|9|3\n', { delimiter: '|' }],
  ['hours as a range', 'data;hora;visitas\n04/03/2030;09:00 às 10:00;2\n04/03/2030;9h-10h;1\n', {}],
  ['hours with their date', 'data;hora;visitas\n04/03/2030;04/03/2030 09:10;3\n', {}],
  ['line breaks inside quotes', 'data;hora;visitas;obs\n04/03/2030;9;3;"linha\n2 ""x"""\n', {}],
])('%s are understood', async (_, bytes, facts) => {
  expect(await counted(bytes)).toMatchObject({ visits: 3, demand: monday9, dropped: { rows: 0 }, ...facts })
})

test('a workbook has dates and times as numbers or as texts', async () => {
  const serial = (Date.UTC(2030, 2, 4) - Date.UTC(1899, 11, 30)) / 86_400_000
  const rows: CellValue[][] = [
    ['Data', 'Hora', 'Visitas'],
    [serial, 9 / 24, 1],
    ['04/03/2030', '09:30', 1],
    [{ inline: '04/03/2030' }, 9, '1'],
  ]
  expect(await counted(workbookOf(rows))).toMatchObject({ format: 'xlsx', sheet: 'Visitas', rows: 3, demand: monday9 })
  expect(await counted(workbookOf([['Data e hora'], [serial + 9.99 / 24]]))).toMatchObject({
    demand: [{ weekday: 1, hour: 9, visits: 1 }],
  })
})

test('24:00 in a workbook is no hour, as in a text, and a plain 1 in the same column is the hour 1', async () => {
  const formats = ['General', 'yyyy\\-mm\\-dd\\ hh:mm', '[$-416][Red]hh"h"mm', '[h]:mm']
  const codes = formats.map(
    (code, index) => `<numFmt numFmtId="${164 + index}" formatCode="${code.replaceAll('"', '&quot;')}"/>`,
  )
  const ids = [...formats.keys()].map(index => 164 + index).concat(20, 46, 14)
  const bytes = `<styleSheet><numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="20"/></cellStyleXfs><cellXfs>${ids.map(id => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`
  const styles = { styles: { name: 'xl/styles.xml', bytes } }
  const hours = (number: number) => ids.map((_, style): CellValue[] => ['04/03/2030', { number, style }])
  expect(await counted(workbookOf([['Data', 'Hora'], ...hours(1)], styles))).toMatchObject({
    demand: [{ weekday: 1, hour: 1, visits: 3 }],
    dropped: { reasons: [{ reason: 'bad_hour', rows: 4, example: '4: "24:00"' }] },
  })
  expect(await counted(workbookOf([['Data', 'Hora'], ...hours(0), ...hours(0.5)], styles))).toMatchObject({
    demand: [
      { hour: 0, visits: 7 },
      { hour: 12, visits: 7 },
    ],
    dropped: { rows: 0 },
  })
  expect(await counted('data;hora\n04/03/2030;1\n04/03/2030;24:00\n')).toMatchObject({
    demand: [{ hour: 1 }],
    dropped: { reasons: [{ reason: 'bad_hour', example: '3: "24:00"' }] },
  })
})

test('the month comes first only if every date fits so and some date fits only so', async () => {
  const months = await counted('date,time,visits\n03/04/2030,9:00 AM,1\n03/25/2030,9:30 a.m.,2\n')
  expect(months).toMatchObject({
    date_order: 'month_first',
    from: '2030-03-04',
    to: '2030-03-25',
    dropped: { rows: 0 },
  })
  expect(months.demand).toEqual([{ weekday: 1, hour: 9, visits: 3, average: 0.75 }])
  const open = await counted('data;hora\n04/03/2030;9\n')
  expect(open).toMatchObject({ date_order: 'day_first', from: '2030-03-04' })
  const both = await counted('data;hora\n25/03/2030;9\n03/25/2030;9\n')
  expect(both).toMatchObject({ date_order: 'day_first', from: '2030-03-25', dropped: { rows: 1 } })
})

test('of several sheets the first visible one with the header counts, and the file is closed afterwards', async () => {
  const sheetXml = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`
  const texts = (row: number, cells: string[]) =>
    `<row r="${row}">${cells.map(text => `<c t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`
  const files = {
    'xl/workbook.xml': '<workbook><sheets><sheet name="Capa" r:id="a"/><sheet name="Oculta" state="hidden" r:id="b"/><sheet name="Vazia" r:id="c"/><sheet name="Dados" r:id="d"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': `<Relationships>${['a', 'b', 'c', 'd'].map(id => `<Relationship Id="${id}" Target="worksheets/${id}.xml"/>`).join('')}</Relationships>`,
    'xl/worksheets/a.xml': sheetXml(texts(1, ['Loja', 'Centro'])),
    'xl/worksheets/b.xml': sheetXml(texts(1, ['data', 'hora']) + texts(2, ['05/03/2030', '8'])),
    'xl/worksheets/c.xml': sheetXml(''),
    'xl/worksheets/d.xml': sheetXml(texts(1, ['data', 'hora', 'visitas']) + texts(2, ['04/03/2030', '9', '3'])),
  } // biome-ignore format: one file a line
  const book = zipOf(Object.entries(files).map(([name, bytes]) => ({ name, bytes })))
  const open = () => readdirSync('/dev/fd').length
  const before = open()
  for (let n = 0; n < 5; n++) expect(await counted(book)).toMatchObject({ sheet: 'Dados', demand: monday9 })
  const none = zipOf(
    Object.entries(files)
      .slice(0, 5)
      .map(([name, bytes]) => ({ name, bytes })),
  )
  for (let n = 0; n < 5; n++) await demandOf(none)
  await expect.poll(open).toBeLessThan(before + 5)
  expect(await demandOf(workbookOf([['nome', 'valor']]))).toMatchObject({
    trouble: 'header',
    columns: ['nome', 'valor'],
  })
})

test('what is dropped is counted by its reason, with the row of an example', async () => {
  const rows = ['data;hora;visitas', '04/03/2030;9;3', '31/02/2030;9;3', '13/13/2030;9;3', ';9;3', '04/03/2030;;3', '04/03/2030;25:00;3', '04/03/2030;9;três', '04/03/2030;9;-1'] // biome-ignore format: in one line
  expect(await counted(rows.join('\n'))).toMatchObject({
    rows: 8,
    visits: 3,
    dropped: {
      rows: 7,
      reasons: [
        { reason: 'bad_date', rows: 2, example: '3: "31/02/2030"' },
        { reason: 'no_date', rows: 1, example: '5: ""' },
        { reason: 'no_hour', rows: 1, example: '6: ""' },
        { reason: 'bad_hour', rows: 1, example: '7: "25:00"' },
        { reason: 'bad_count', rows: 1, example: '8: "três"' },
        { reason: 'negative_count', rows: 1, example: '9: "-1"' },
      ],
    },
  })
})

test('the average of a weekday is per day of the period, also for a day without visits', async () => {
  const { demand, days } = await counted('data;hora;visitas\n04/03/2030;9;10\n18/03/2030;9;20\n')
  expect(days).toEqual([2, 3, 2, 2, 2, 2, 2])
  expect(demand).toEqual([{ weekday: 1, hour: 9, visits: 30, average: 10 }])
})

test('a wrong header, a formula, a macro and an old file each get a clear end', async () => {
  expect(await demandOf('nome;valor\nx;1\n')).toMatchObject({ trouble: 'header', columns: ['nome', 'valor'] })
  expect(await demandOf('hora;visitas\n9;1\n')).toMatchObject({ trouble: 'header' })
  expect(await demandOf('')).toEqual({ trouble: 'empty' })
  expect(await demandOf('data;hora\n')).toMatchObject({ trouble: 'no_visits' })
  expect(await demandOf('data;hora;visitas\n04/03/2030;9;=2+3\n')).toEqual({ trouble: 'formula', cell: 'C2' })
  const wide = [...Array.from({ length: 25 }, (_, index) => `c${index}`), 'data', 'hora', 'visitas'].join(';')
  expect(await demandOf(`${wide}\n${';'.repeat(25)}04/03/2030;9;=2+3\n`)).toEqual({ trouble: 'formula', cell: 'AB2' })
  expect(await demandOf(workbookOf([['data', 'hora', 'visitas'], ['04/03/2030', 9, { formula: 'SUM(A1:A9)', value: '3' }]]))).toEqual({ trouble: 'formula', cell: 'C2' }) // biome-ignore format: one case
  const macros = { v: { name: 'xl/vbaProject.bin', bytes: 'x' } }
  expect(await demandOf(workbookOf([['data', 'hora']], macros))).toEqual({ trouble: 'macros' })
  expect(await demandOf(Buffer.from('d0cf11e0a1b11ae1', 'hex'))).toEqual({ trouble: 'old_workbook' })
})

test('dates, hours and numbers of Brazil are read, and nonsense is not', () => {
  expect(readDate('25/12/2030')).toEqual({ year: 2030, month: 12, day: 25 })
  expect(readDate('5.1.30')).toEqual({ year: 2030, month: 1, day: 5 })
  for (const bad of ['30/02/2030', '12/25/2030', '0/1/2030', '1/1/1890', 'ontem', ''])
    expect(readDate(bad)).toBeUndefined()
  expect(
    [
      '9',
      '09:30',
      '14h',
      '14h30',
      '23:59:59',
      '2:15 PM',
      '12 am',
      '14:30h',
      '14h30min',
      '9 h',
      '2:15 p.m.',
      '23h-24h',
    ].map(readHour),
  ).toEqual([9, 9, 14, 14, 23, 14, 0, 14, 14, 9, 14, 23])
  for (const bad of ['24', '9:60', '13 pm', 'h', '-1', '9-', '9-10-11', '9 às tarde'])
    expect(readHour(bad)).toBeUndefined()
  expect(readInstant('2030-03-04T09:15:00Z')).toMatchObject({ hour: 9 })
  expect(['1.234,5', '1,234.5', '1.234', '12,5', '12.5', '1 000', '7'].map(readNumber)).toEqual([
    1234.5, 1234.5, 1234, 12.5, 12.5, 1000, 7,
  ])
  for (const bad of ['', 'x', '1e9', '--1', '1..2,3,4']) expect(readNumber(bad)).toBeUndefined()
  expect(readSerial(1e9, false)).toBeUndefined()
})

test('any text as a table ends with a demand or a trouble', async () => {
  const cell = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom('04/03/2030', '09:00', '3', '"', ';', '\n', '=1'))
  await fc.assert(
    fc.asyncProperty(fc.array(cell, { maxLength: 60 }), fc.constantFrom(';', ',', '\n'), async (cells, mark) => {
      const answer = await demandOf(`data;hora;visitas\n${cells.join(mark)}`)
      expect('demand' in answer || 'trouble' in answer).toBe(true)
    }),
    { numRuns: 150 },
  )
})

test('100,000 rows are read as a stream, with all visits', async () => {
  const line = (index: number) =>
    `${String((index % 28) + 1).padStart(2, '0')}/03/2030 ${String(index % 24).padStart(2, '0')}:30;2\n`
  const { rows, visits } = await counted(
    `data e hora;visitas\n${Array.from({ length: 100_000 }, (_, index) => line(index)).join('')}`,
  )
  expect({ rows, visits }).toEqual({ rows: 100_000, visits: 200_000 })
})
