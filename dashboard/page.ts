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
  /** Which peers are listed. */
  choosePeers(filter: Pick<Place, 'search' | 'show'>): void
}

/** The name of a peer that is one of the nodes of this page; undefined of others. */
export function nodeNameOf(page: Page, peerId: string): string | undefined {
  return page.nodes.find((node) => node.peerId === peerId)?.name
}

/** A sentence of a node, with names in the place of the ids that this page has names for. */
export function withNames({ nodes }: Page, text: string): string {
  return nodes.reduce((named, { peerId, name }) => {
    return peerId === undefined ? named : named.replaceAll(peerId, name).replaceAll(shortPeer(peerId), name)
  }, text)
}

export function peerName(page: Page, peerId: string): string {
  return nodeNameOf(page, peerId) ?? shortPeer(peerId)
}
