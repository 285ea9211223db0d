import type { ChannelManager } from '../channel/channelManager.ts'
import type { TxData } from '../channel/txData.ts'

/** Fills channels, and with `force` flushes all held blocks. Takes the next data. */
export async function takeTxData(
  manager: ChannelManager,
  l1Head: number,
  { force }: { force: boolean },
): Promise<TxData | undefined> {
  if (force) manager.flush()
  await manager.fill(l1Head, { deadlines: true })
  return manager.nextTxData()
}
