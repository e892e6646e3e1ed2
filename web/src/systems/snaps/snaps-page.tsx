/** The gallery of snaps: upload, state of each image, and what was measured. */
import { FlaskConical, Images } from 'lucide-react'
import { queryClient, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { upload } from '../../api/upload.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DropZone } from '../../components/drop-zone.tsx'
import { Select } from '../../components/field.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { useFilters } from '../../lib/filters.ts'
import { sharedMessages, statusMessages } from '../shared/messages.ts'
import { UploadList } from '../shared/upload-list.tsx'
import { useUploads } from '../shared/uploads.ts'
import { snapsMessages } from './messages.ts'
import { sampleImage } from './sample-image.ts'
import { SnapCard } from './snap-card.tsx'

const statuses = ['PENDING', 'PROCESSING', 'DONE', 'FAILED'] as const
const filterNames = ['status'] as const
const refreshMs = 2000

export default function SnapsPage() {
  const words = useMessages(snapsMessages)
  const names = useMessages(statusMessages)
  const may = useCan('operator')
  const shared = useMessages(sharedMessages)
  const [filter, setFilter] = useFilters(filterNames)
  const status = statuses.find(each => each === filter.status)
  const snaps = useApiList(
    'GET /api/snaps',
    { query: { order: 'newest', limit: 48, ...(status !== undefined && { status }) } },
    { every: refreshMs },
  )
  const uploads = useUploads('snaps', {
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
            value={status ?? ''}
            onSelect={value => setFilter({ status: value })}
            options={[{ value: '', label: words.all }, ...statuses.map(value => ({ value, label: names[value] }))]}
          />
        </div>
        {snaps.data?.stillSince !== undefined && (
          <Card flush>
            <StillMark
              since={snaps.data.stillSince}
              isReading={snaps.isFetching}
              onRefresh={() => void snaps.refetch()}
            />
          </Card>
        )}
        <Loading of={snaps} lines={6}>
          {({ items }) =>
            items.length === 0 ? (
              <Card>
                {status === undefined ? (
                  <EmptyState
                    icon={Images}
                    title={words.none}
                    {...(may && {
                      action: (
                        <Button
                          icon={FlaskConical}
                          busy={uploads.isBusy}
                          onClick={() => void sampleImage().then(image => uploads.add([image]))}
                        >
                          {words.sample}
                        </Button>
                      ),
                    })}
                  >
                    {words.noneHint}
                  </EmptyState>
                ) : (
                  <EmptyState icon={Images} title={shared.noMatch} />
                )}
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
