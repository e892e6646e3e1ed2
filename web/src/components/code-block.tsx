/** A text to copy: a command, a stack, a file. */
import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useMessages } from '../i18n/messages.ts'
import { copyText } from '../lib/copy-text.ts'
import { IconButton } from './button.tsx'
import { componentMessages } from './messages.ts'
import { useToast } from './toast.tsx'

/** Copies `text`; the button says so for two seconds. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const words = useMessages(componentMessages)
  const toast = useToast()
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await copyText(text)
    } catch {
      toast.show('bad', words.copyFailed)
      return
    }
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <IconButton
      icon={copied ? Check : Copy}
      size="sm"
      label={copied ? words.copied : (label ?? words.copy)}
      onClick={() => void copy()}
    />
  )
}

export function CodeBlock({ text, label, maxHeight = '20rem' }: { text: string; label: string; maxHeight?: string }) {
  return (
    <div class="relative rounded-md border bg-sunken">
      <div class="absolute top-1 right-1">
        <CopyButton text={text} />
      </div>
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        class="overflow-auto p-3 pr-10 font-mono text-sm whitespace-pre-wrap"
        style={{ maxHeight }}
      >
        {text}
      </pre>
    </div>
  )
}
