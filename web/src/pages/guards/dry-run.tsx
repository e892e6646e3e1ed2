/** Runs a guard without changes, shows the lost rows, and marks them if the person says so. */
import { useEffect } from 'react'
import { useAction } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { componentMessages } from '../../components/messages.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { Table } from '../../components/table.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { guardsMessages } from './messages.ts'

const shownRows = 20

export function DryRun({ name, onClose }: { name: string; onClose(): void }) {
  const words = useMessages(guardsMessages)
  const common = useMessages(componentMessages)
  const toast = useToast()
  const check = useAction('POST /api/v1/guards/{name}/run')
  const sweep = useAction('POST /api/v1/guards/{name}/run')
  const { mutate } = check
  useEffect(() => mutate({ params: { name }, body: { dry_run: true } }), [mutate, name])
  const mark = () =>
    sweep.mutate(
      { params: { name }, body: {} },
      {
        onSuccess: ({ marked }) => {
          toast.show('good', marked === null ? words.swept : words.marked(marked))
          onClose()
        },
        onError: error => toast.show('bad', error.message),
      },
    )
  const found = check.data
  return (
    <Dialog
      title={words.checkTitle(name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.close}</Button>
          {found !== undefined && found.marked !== 0 && (
            <Button look="danger" busy={sweep.isPending} onClick={mark}>
              {found.marked === null ? words.run : words.mark(found.marked)}
            </Button>
          )}
        </>
      }
    >
      {check.error !== null && <ErrorState error={check.error} />}
      {check.isPending && <Skeleton />}
      {found !== undefined && (
        <div class="flex flex-col gap-3">
          <p>{found.marked === null ? words.private : words.would(found.marked)}</p>
          {found.rows.length > 0 && (
            <>
              <p class="text-muted">
                {words.sets}:{' '}
                <span class="font-mono text-sm">
                  {Object.entries(found.set)
                    .map(([column, value]) => `${column} = ${value ?? 'null'}`)
                    .join(', ')}
                </span>
              </p>
              <div class="rounded-md border">
                <Table
                  label={words.tableLabel}
                  columns={[
                    {
                      id: 'key',
                      header: words.key,
                      cell: ({ key }) => <span class="font-mono text-sm">{textOf(key)}</span>,
                    },
                    {
                      id: 'signal',
                      header: words.signal,
                      width: '9rem',
                      cell: ({ signal_at }) => <RelativeTime at={signal_at} />,
                    },
                  ]}
                  rows={found.rows.slice(0, shownRows)}
                  keyOf={({ key }) => textOf(key)}
                />
              </div>
            </>
          )}
        </div>
      )}
    </Dialog>
  )
}

/** The key of a row is `{ column: value }`. */
const textOf = (key: unknown): string =>
  key !== null && typeof key === 'object' ? Object.values(key).map(String).join(', ') : String(key)
