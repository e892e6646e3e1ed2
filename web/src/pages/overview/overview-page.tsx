/** The overview: one sentence of health, the queues, what is wrong now. */
import { useMessages } from '../../i18n/messages.ts'
import { shellMessages } from '../../layout/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'

export default function OverviewPage() {
  const words = useMessages(shellMessages)
  return <PageHeader title={words.overview} />
}
