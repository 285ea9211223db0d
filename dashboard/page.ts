import { shortPeer } from '../src/lib/shortIds.ts'
import type { NodeState } from './nodeState.ts'
import type { Place } from './place.ts'

/** The state of the page, which the views read. */
export interface Page {
  readonly nodes: readonly NodeState[]
  node: NodeState
  /** Hash of the block whose path is shown. */
  block: string | undefined
  peer: string | undefined
  chooseNode(node: NodeState): void
  chooseBlock(hash: string | undefined): void
  openPeer(peerId: string | undefined): void
  openBlock(hash: string | undefined): void
  choosePeers(filter: Pick<Place, 'search' | 'show'>): void
}

/** The name of a peer that is a node of this page or named by the operator; undefined for others. */
export function nodeNameOf({ nodes, node }: Page, peerId: string): string | undefined {
  return nodes.find((other) => other.peerId === peerId)?.name ?? node.names[peerId]
}

/** A sentence of a node, with names in place of known ids. */
export function withNames({ nodes, node }: Page, text: string): string {
  const own = nodes.flatMap(({ peerId, name }): [string, string][] => (peerId === undefined ? [] : [[peerId, name]]))
  return [...own, ...Object.entries(node.names)].reduce((named, [id, name]) => {
    return named.replaceAll(id, name).replaceAll(shortPeer(id), name)
  }, text)
}

export function peerName(page: Page, peerId: string): string {
  return nodeNameOf(page, peerId) ?? shortPeer(peerId)
}
