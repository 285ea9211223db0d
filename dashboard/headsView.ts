import { byId, el, setText } from './dom.ts'
import { ago } from './format.ts'
import type { NodeState } from './nodeState.ts'

const TILES = [
  { key: 'unsafe', label: 'Unsafe', title: 'The newest L2 block, received by gossip or built by this node' },
  { key: 'safe', label: 'Safe', title: 'Derived from batches on L1' },
  { key: 'finalized', label: 'Finalized', title: 'Derived from finalized L1 blocks' },
  { key: 'l1', label: 'L1 head', title: 'The newest L1 block' },
] as const

export function startHeads(): void {
  const list = byId('heads')
  for (const { key, label, title } of TILES) {
    list.append(
      el(
        'div',
        { class: `tile ${key}`, title },
        el('dt', {}, label),
        el(
          'dd',
          {},
          el('span', { class: 'figure', id: `head-${key}` }, '–'),
          el('span', { class: 'quiet', id: `age-${key}` }),
        ),
      ),
    )
  }
}

export function showHeads(node: NodeState, nowMs: number): void {
  const { heads } = node
  const refs = { unsafe: heads?.unsafe_l2, safe: heads?.safe_l2, finalized: heads?.finalized_l2, l1: heads?.head_l1 }
  for (const { key } of TILES) {
    const ref = refs[key]
    const isKnown = ref !== undefined && !/^0x0*$/.test(ref.hash)
    setText(byId(`head-${key}`), isKnown ? String(ref.number) : '–')
    setText(byId(`age-${key}`), isKnown ? ago(nowMs, ref.timestamp * 1_000) : 'unknown')
  }
}
