import { shortPeer } from '../src/lib/shortIds.ts'
import type { NodeState } from './nodeState.ts'
import type { Place } from './place.ts'

/** What is shown at present; the views read it. */
export interface Page {
  readonly nodes: readonly NodeState[]
  node: NodeState
  /** Hash of the block whose way is shown. */
  block: string | undefined
  /** The peer that is looked at. */
  peer: string | undefined
  chooseNode(node: NodeState): void
  chooseBlock(hash: string | undefined): void
  openPeer(peerId: string | undefined): void
  /** All about a block, by its hash. */
  openBlock(hash: string | undefined): void
  /** Which peers are listed. */
  choosePeers(filter: Pick<Place, 'search' | 'show'>): void
}

/** The name of a peer that is one of the nodes of this page, or that the node's operator has named; undefined of others. */
export function nodeNameOf({ nodes, node }: Page, peerId: string): string | undefined {
  return nodes.find((other) => other.peerId === peerId)?.name ?? node.names[peerId]
}

/** A sentence of a node, with names in the place of the ids that this page has names for. */
export function withNames({ nodes, node }: Page, text: string): string {
  const own = nodes.flatMap(({ peerId, name }): [string, string][] => (peerId === undefined ? [] : [[peerId, name]]))
  return [...own, ...Object.entries(node.names)].reduce((named, [id, name]) => {
    return named.replaceAll(id, name).replaceAll(shortPeer(id), name)
  }, text)
}

export function peerName(page: Page, peerId: string): string {
  return nodeNameOf(page, peerId) ?? shortPeer(peerId)
}
