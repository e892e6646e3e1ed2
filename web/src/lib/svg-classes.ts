/**
 * Lets an icon take `class` as every other element does. The icons are made for React and set `className` themselves; Preact would keep
 * only one of both.
 */
import { options, type VNode } from 'preact'

const before = options.vnode

options.vnode = (vnode: VNode) => {
  const props = vnode.props as { class?: string; className?: string }
  if (vnode.type === 'svg' && props.class !== undefined && props.className !== undefined) {
    props.className = `${props.className} ${props.class}`
    delete props.class
  }
  before?.(vnode)
}
