/** The gallery of snaps: upload, state of each image, and what was measured. */
import { Images } from 'lucide-react'
import { useState } from 'react'
import { queryClient, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { upload } from '../../api/upload.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DropZone } from '../../components/drop-zone.tsx'
import { Select } from '../../components/field.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { statusMessages } from '../shared/messages.ts'
import { UploadList } from '../shared/upload-list.tsx'
import { useUploads } from '../shared/uploads.ts'
import { snapsMessages } from './messages.ts'
import { SnapCard } from './snap-card.tsx'

const statuses = ['PENDING', 'PROCESSING', 'DONE', 'FAILED'] as const
type Status = (typeof statuses)[number]
const refreshMs = 2000

export default function SnapsPage() {
  const words = useMessages(snapsMessages)
  const names = useMessages(statusMessages)
  const may = useCan('operator')
  const [status, setStatus] = useState<Status | ''>('')
  const snaps = useApiList(
    'GET /api/snaps',
    { query: { order: 'newest', limit: 48, ...(status !== '' && { status }) } },
    { every: refreshMs },
  )
  const uploads = useUploads({
    send(file, options) {
      const form = new FormData()
      form.append('image', file)
      return upload('/api/snaps', form, options)
    },
    onSent: () => void queryClient.invalidateQueries({ queryKey: ['GET /api/snaps'] }),
  })
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <div class="flex flex-col gap-4">
        {may && <DropZone compact title={words.drop} hint={words.dropHint} accept="image/*" onFiles={uploads.add} />}
        <UploadList uploads={uploads} />
        <div class="w-48">
          <Select
            label={words.filter}
            hideLabel
            value={status}
            onSelect={value => setStatus(value as Status | '')}
            options={[{ value: '', label: words.all }, ...statuses.map(value => ({ value, label: names[value] }))]}
          />
        </div>
        <Loading of={snaps} lines={6}>
          {({ items }) =>
            items.length === 0 ? (
              <Card>
                <EmptyState icon={Images} title={words.none}>
                  {words.noneHint}
                </EmptyState>
              </Card>
            ) : (
              <ul class="grid grid-cols-[repeat(auto-fill,minmax(13rem,1fr))] gap-4">
                {items.map(snap => (
                  <SnapCard key={snap.id} snap={snap} />
                ))}
              </ul>
            )
          }
        </Loading>
        {snaps.hasNextPage && (
          <div class="text-center">
            <Button look="quiet" busy={snaps.isFetchingNextPage} onClick={() => void snaps.fetchNextPage()}>
              {words.more}
            </Button>
          </div>
        )}
      </div>
    </>
  )
}
