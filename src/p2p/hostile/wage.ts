import type { Attack, Session } from './attacks.ts'
import { socketOf, startHostileHost } from './hostileHost.ts'

/** A new identity costs a new address, and some time. */
const NEW_IDENTITY_MS = 2_000

/** What the attacker did. */
export interface AttackReport {
  identities: number
  stepsPerS: number
  /** Megabytes a second that it sent over gossip's connection. */
  mbPerS: number
}

export interface Target {
  /** Multiaddress of the node. */
  address: string
  /** Of its blocks. */
  topic: string
  /** Where the next identity comes from; by default the system chooses. */
  localIp?: () => string
}

/** Attacks a node until the returned function is called, as somebody new whenever it is dropped. */
export function wage(attack: Attack, { address, topic, localIp }: Target): () => Promise<AttackReport> {
  const startMs = performance.now()
  let isOver = false
  let count = 0
  let identities = 0
  let sentBytes = 0
  const attackAs = async (session: Session): Promise<void> => {
    await attack.begin?.(session)
    for (; !isOver; count++) {
      try {
        await attack.step(session, count)
      } catch {
        // A stream that is refused discourages nobody.
      }
      if (session.connection.status !== 'open') throw new Error('dropped')
      await pause(attack.everyMs)
    }
  }
  const loop = async (): Promise<void> => {
    while (!isOver) {
      identities += 1
      const hostile = await startHostileHost(localIp === undefined ? {} : { localIp: localIp() })
      try {
        const gossip = await hostile.join(address, [topic])
        const session: Session = { hostile, address, gossip, connection: gossip.connection }
        await attackAs(session).finally(() => {
          sentBytes += socketOf(session.connection).bytesWritten
        })
      } catch {
        if (!isOver) await pause(NEW_IDENTITY_MS)
      }
      attack.end?.(hostile)
      await hostile.stop().catch(() => {})
    }
  }
  const done = loop()
  return async () => {
    const seconds = (performance.now() - startMs) / 1_000
    isOver = true
    await done
    return { identities, stepsPerS: count / seconds, mbPerS: sentBytes / 1e6 / seconds }
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs))
}
