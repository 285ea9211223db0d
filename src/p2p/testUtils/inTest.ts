import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import { onTestFinished } from 'vitest'
import type { P2pOptions } from '../base/options.ts'
import { type RawPeer, startRawPeer } from './rawPeer.ts'
import { startTestNode, type TestNode } from './testNode.ts'

/** A node that stops at the end of the test. */
export async function nodeInTest(...args: Parameters<typeof startTestNode>): Promise<TestNode> {
  const started = await startTestNode(...args)
  onTestFinished(() => started.node.stop())
  return started
}

/** A raw peer that stops at the end of the test. */
export async function rawPeerInTest(...args: Parameters<typeof startRawPeer>): Promise<RawPeer> {
  const raw = await startRawPeer(...args)
  onTestFinished(() => raw.stop())
  return raw
}

/** An empty folder, removed at the end of the test. */
export async function folderInTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'devium-p2p-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** An empty store on disk. */
export async function datastoreInTest(): Promise<LevelDatastore> {
  const datastore = new LevelDatastore(await folderInTest())
  await datastore.open()
  onTestFinished(() => datastore.close())
  return datastore
}

/** Paths at which a node persists its state. */
export async function keptInTest(): Promise<Required<Pick<P2pOptions, 'privateKeyPath' | 'peerStorePath'>>> {
  const folder = await folderInTest()
  return { privateKeyPath: join(folder, 'key.txt'), peerStorePath: join(folder, 'store') }
}
