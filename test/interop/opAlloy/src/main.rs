//! Answers a line of input by a line of JSON: what op-alloy makes of a transaction or a receipt.

use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::hex;
use op_alloy_consensus::{OpReceiptEnvelope, OpTxEnvelope, OpTxType};
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words.as_slice() {
            ["transaction", encoded] => transaction(encoded),
            ["receipt", cumulative_gas] => receipt(cumulative_gas),
            _ => Err(format!("not understood: {line}")),
        };
        writeln!(output, "{}", answer.unwrap_or_else(|error| json!({ "error": error })))?;
    }
    Ok(())
}

fn transaction(encoded: &str) -> Result<Value, String> {
    let bytes = hex::decode(encoded).map_err(|error| error.to_string())?;
    let decoded =
        OpTxEnvelope::decode_2718_exact(&bytes).map_err(|error| error.to_string())?;
    let Some(post_exec) = decoded.as_post_exec() else {
        return Err("no post-exec transaction".into());
    };
    let payload = &post_exec.inner().payload;
    let refunds: Vec<_> = payload
        .gas_refund_entries
        .iter()
        .map(|entry| json!([entry.index.to_string(), entry.gas_refund.to_string()]))
        .collect();
    Ok(json!({
        "encoded": hex::encode_prefixed(decoded.encoded_2718()),
        "hash": decoded.tx_hash(),
        "version": payload.version,
        "blockNumber": payload.block_number.to_string(),
        "refunds": refunds,
        "shown": serde_json::to_value(&decoded).map_err(|error| error.to_string())?,
    }))
}

fn receipt(cumulative_gas: &str) -> Result<Value, String> {
    let cumulative_gas = cumulative_gas.parse().map_err(|_| "no number")?;
    let receipt =
        OpReceiptEnvelope::from_parts(true, cumulative_gas, vec![], OpTxType::PostExec, None, None);
    Ok(json!({ "encoded": hex::encode_prefixed(receipt.encoded_2718()) }))
}
