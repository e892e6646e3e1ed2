/** The first page of the classifier: executions, and projects on a second tab. */
import { Plus, ScanText } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useCan, useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { ExecutionList } from './execution-list.tsx'
import { classifierMessages } from './messages.ts'
import { paths } from './paths.ts'
import { ProjectForm } from './project-form.tsx'
import { ProjectList } from './project-list.tsx'

export function HomePage({ tab }: { tab: 'executions' | 'projects' }) {
  const words = useMessages(classifierMessages)
  const [, navigate] = useLocation()
  const [isCreating, setCreating] = useState(false)
  const mayAct = useCan('operator')
  return (
    <>
      <PageHeader
        title={words.title}
        mark={<ClassifierMark />}
        subtitle={words.subtitle}
        actions={
          mayAct && (
            <>
              <Button icon={Plus} onClick={() => setCreating(true)}>
                {words.newProject}
              </Button>
              <Button look="primary" icon={ScanText} onClick={() => navigate(paths.create)}>
                {words.newExecution}
              </Button>
            </>
          )
        }
      />
      <Tabs
        label={words.title}
        tabs={[
          { id: 'executions', label: words.executions },
          { id: 'projects', label: words.projects },
        ]}
        selected={tab}
        onSelect={id => navigate(id === 'projects' ? paths.projects : paths.home)}
      >
        {tab === 'projects' ? <ProjectList onCreate={() => setCreating(true)} /> : <ExecutionList />}
      </Tabs>
      {isCreating && (
        <ProjectForm
          onClose={() => setCreating(false)}
          onSaved={({ id }) => {
            setCreating(false)
            navigate(paths.createFor(id))
          }}
        />
      )}
    </>
  )
}

/** Marks the page while the AI has no key. */
export function ClassifierMark() {
  const { data } = useSession()
  const names = data?.systems.find(({ page }) => page === paths.home)?.simulated ?? []
  return names.length > 0 ? <SimulatedMark names={names} /> : null
}
