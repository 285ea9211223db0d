import { onTestFinished } from 'vitest'
import { type RawPeer, startRawPeer } from './rawPeer.ts'
import { startTestNode, type TestNode } from './testNode.ts'

/** A node that stops when the test is over. */
export async function nodeInTest(...args: Parameters<typeof startTestNode>): Promise<TestNode> {
  const started = await startTestNode(...args)
  onTestFinished(() => started.node.stop())
  return started
}

/** A bare peer that stops when the test is over. */
export async function rawPeerInTest(...args: Parameters<typeof startRawPeer>): Promise<RawPeer> {
  const raw = await startRawPeer(...args)
  onTestFinished(() => raw.stop())
  return raw
}
