/** The prices of a quote, each with its shop, the part of the page it was read from, and the kept page. */
import { CircleCheck, CircleDashed, CircleSlash } from 'lucide-react'
import type { Answer } from '../../api/client.ts'
import { Badge } from '../../components/badge.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { withBase } from '../../lib/base-path.ts'
import { quotesMessages } from './messages.ts'

type Price = Answer<'GET /api/quotes/{id}'>['prices'][number]

/** A link of a shop is text of an outsider: only http and https are links. */
const isWeb = (url: string) => /^https?:\/\//i.test(url)

export function PriceTable({ prices }: { prices: readonly Price[] }) {
  const words = useMessages(quotesMessages)
  const format = useFormat()
  const columns: Column<Price>[] = [
    {
      id: 'shop',
      header: words.shop,
      cell: ({ shop, product, url, snippet }) => (
        <div class="min-w-0">
          {isWeb(url) ? (
            <a href={url} rel="noreferrer noopener" target="_blank" class="block truncate font-medium hover:underline">
              {shop}
            </a>
          ) : (
            <span class="block truncate font-medium">{shop}</span>
          )}
          <div class="truncate text-sm text-muted" title={snippet ?? product}>
            {product}
          </div>
        </div>
      ),
    },
    {
      id: 'price',
      header: words.price,
      width: '8rem',
      align: 'right',
      cell: ({ price, currency }) => format.money(price, currency),
    },
    {
      id: 'used',
      header: words.status,
      width: '11rem',
      hide: 'sm',
      cell: ({ used, reason }) =>
        used === null ? (
          <Badge icon={CircleDashed}>{words.undecided}</Badge>
        ) : used ? (
          <Badge tone="good" icon={CircleCheck}>
            {words.used}
          </Badge>
        ) : (
          <>
            <Badge icon={CircleSlash}>{words.outlier}</Badge>
            {reason !== null && (
              <div class="truncate text-sm text-muted" title={reason}>
                {reason}
              </div>
            )}
          </>
        ),
    },
    {
      id: 'evidence',
      header: words.evidence,
      width: '10rem',
      hide: 'nav',
      cell: ({ evidence_url, screenshot_url }) => (
        <span class="flex gap-3">
          {evidence_url !== null && (
            <a href={withBase(evidence_url)} class="text-accent hover:underline" download>
              {words.page}
            </a>
          )}
          {screenshot_url !== null && (
            <a href={withBase(screenshot_url)} class="text-accent hover:underline" download>
              {words.picture}
            </a>
          )}
        </span>
      ),
    },
    {
      id: 'seen',
      header: words.read,
      width: '7rem',
      hide: 'nav',
      cell: ({ seen_at }) => <RelativeTime at={seen_at} />,
    },
  ]
  return <Table label={words.plot} columns={columns} rows={prices} keyOf={({ n }) => String(n)} />
}
