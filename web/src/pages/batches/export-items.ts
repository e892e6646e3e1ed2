/**
 * Writes all items of a batch into a file, page by page, so that the server holds one page at a time. A list omits large values: the file
 * names each omitted value with its address, and the report counts the items.
 */
import { call } from '../../api/client.ts'
import type { ItemOf } from '../../api/query.ts'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { withBase } from '../../lib/base-path.ts'
import type { BatchView } from './batch-model.ts'
import { batchMessages } from './messages.ts'

type Item = ItemOf<'GET /api/v1/batches/{id}/items'>

const pageSize = 500
const sayEvery = 20_000
const csvColumns = ['id', 'ref', 'state', 'starts', 'failures', 'created_at', 'started_at', 'finished_at'] as const

/** A cell that a spreadsheet would take for a formula gets an apostrophe before it. */
function csvCell(value: unknown): string {
  const text = value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  const safe = /^[=+\-@\t\r]/.test(text) && typeof value === 'string' ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The values that the list omits or cuts, each with the address of the whole value. */
const omittedText = ({ omitted }: Item): string =>
  Object.entries(omitted ?? {})
    .map(([name, { bytes, href }]) => `${name} (${bytes} bytes): ${withBase(href)}`)
    .join('; ')

const csvLine = (item: Item) =>
  [...csvColumns.map(name => item[name]), item.error?.code, item.error?.message, item.result, omittedText(item)]
    .map(csvCell)
    .join(',')

const shapes = {
  csv: {
    type: 'text/csv;charset=utf-8',
    // The byte order mark makes spreadsheets read the file as UTF-8.
    begin: `\uFEFF${[...csvColumns, 'error_code', 'error_message', 'result', 'omitted'].join(',')}\r\n`,
    of: (items: Item[]) => items.map(item => `${csvLine(item)}\r\n`).join(''),
    end: '',
  },
  json: {
    type: 'application/json',
    begin: '[\n',
    of: (items: Item[], isFirst: boolean) =>
      items.map((item, index) => `${isFirst && index === 0 ? '' : ',\n'}${JSON.stringify(item)}`).join(''),
    end: '\n]\n',
  },
}

export function useExport(batch: BatchView): (shape: keyof typeof shapes) => Promise<void> {
  const words = useMessages(batchMessages)
  const format = useFormat()
  const toast = useToast()
  return async shape => {
    const { type, begin, of, end } = shapes[shape]
    const parts: Blob[] = [new Blob([begin])]
    let count = 0
    let cut = 0
    try {
      for (let after: string | null = ''; after !== null; ) {
        const query = { limit: pageSize, ...(after === '' ? {} : { after }) }
        const page: { items: Item[]; next: string | null } = await call('GET /api/v1/batches/{id}/items', {
          params: { id: batch.id },
          query,
        })
        parts.push(new Blob([of(page.items, count === 0)]))
        if (Math.floor(count / sayEvery) !== Math.floor((count + page.items.length) / sayEvery))
          toast.show('info', words.exporting(format.number(count + page.items.length)))
        count += page.items.length
        cut += page.items.filter(({ omitted }) => omitted?.result !== undefined || omitted?.error !== undefined).length
        after = page.next
      }
    } catch (error) {
      toast.show('bad', error instanceof Error ? error.message : String(error))
      return
    }
    save(new Blob([...parts, end], { type }), `${batch.name}-${batch.id}.${shape}`)
    toast.show(cut === 0 ? 'good' : 'info', words.exported(count, cut))
  }
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
