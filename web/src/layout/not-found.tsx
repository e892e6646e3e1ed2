/** Shown for an address that no page has. */
import { Compass } from 'lucide-react'
import { Link } from 'wouter'
import { EmptyState } from '../components/states.tsx'
import { useMessages } from '../i18n/messages.ts'
import { shellMessages } from './messages.ts'
import { PageHeader } from './page-header.tsx'

export function NotFound() {
  const words = useMessages(shellMessages)
  return (
    <>
      <PageHeader title={words.notFound} />
      <EmptyState
        icon={Compass}
        title={words.notFound}
        action={
          <Link href="/" class="font-medium text-accent">
            {words.goHome}
          </Link>
        }
      >
        {words.notFoundHint}
      </EmptyState>
    </>
  )
}
