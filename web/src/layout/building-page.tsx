/** Holds the place of a page that is not written yet. */
import { Construction } from 'lucide-react'
import { EmptyState } from '../components/states.tsx'
import { useMessages } from '../i18n/messages.ts'
import { shellMessages } from './messages.ts'
import { PageHeader } from './page-header.tsx'

export function BuildingPage({ title }: { title: string }) {
  const words = useMessages(shellMessages)
  return (
    <>
      <PageHeader title={title} />
      <EmptyState icon={Construction} title={words.building} />
    </>
  )
}
