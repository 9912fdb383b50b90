#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training and prediction of a Posterior Network: limen beside the same network in plain PyTorch.

Embeddings, an MLP of 128 and 64, a latent of 8, 6 radial flows per class, the Beta loss, Adam, batches of 1024. Each
table row is one run of both programs, one after the other, best of several rounds. Rows per second by wall time, and by
processor time for machines that are busy with other things.

    bench/training.py [--program build/bench/bin/bench_train] [--threads 1 2] [--steps 200]
"""
import argparse
import math
import os
import subprocess
import time

NUMERIC = 13
BATCH = 1024
CASES = {
    "26 vocabularies, 10 to 100,000, and bins": [int(10 ** (1 + 4 * i / 25)) for i in range(26)] + NUMERIC * [33],
    "26 vocabularies, 10 to 100,000": [int(10 ** (1 + 4 * i / 25)) for i in range(26)],
    "26 vocabularies, 10 to 100": [int(10 ** (1 + i / 25)) for i in range(26)],
    "bins alone": NUMERIC * [33],
    "no categorical features": [],
}


def embedding_width(tokens):
    return min(16, math.ceil(math.ceil(tokens**0.25 - 1e-9) / 4) * 4)


def measure_pytorch(vocabularies, threads, steps):
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(1)

    class Radial(nn.Module):
        def __init__(self, width):
            super().__init__()
            bound = 1 / math.sqrt(width)
            self.center = nn.Parameter(torch.empty(width).uniform_(-bound, bound))
            self.a = nn.Parameter(torch.empty(1).uniform_(-bound, bound))
            self.b = nn.Parameter(torch.empty(1).uniform_(-bound, bound))

        def forward(self, z):
            alpha = nn.functional.softplus(self.a)
            beta = nn.functional.softplus(self.b) - alpha
            difference = z - self.center
            r = (difference.square().sum(1, keepdim=True) + 1e-12).sqrt()
            h = 1 / (alpha + r)
            scaled = beta * h
            log_det = (z.shape[1] - 1) * torch.log1p(scaled) + torch.log1p(scaled - beta * h * h * r)
            return z + scaled * difference, log_det.squeeze(1)

    class PosteriorNetwork(nn.Module):
        def __init__(self):
            super().__init__()
            widths = [embedding_width(v) for v in vocabularies]
            self.embeddings = nn.ModuleList(nn.Embedding(v, w) for v, w in zip(vocabularies, widths))
            self.layers = nn.Sequential(
                nn.Linear(NUMERIC + sum(widths), 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 8)
            )
            self.flows = nn.ModuleList(nn.ModuleList(Radial(8) for _ in range(6)) for _ in range(2))
            self.register_buffer("log_counts", torch.tensor([3e5, 1e5]).double().log())

        def forward(self, numeric, categorical):
            parts = [table(categorical[:, i]) for i, table in enumerate(self.embeddings)]
            z = self.layers(torch.cat(parts + [numeric], 1)).double()
            densities = []
            for stack in self.flows:
                x, total = z, 0
                for flow in stack:
                    x, log_det = flow(x)
                    total = total + log_det
                densities.append(total - 0.5 * x.square().sum(1) - 4 * math.log(2 * math.pi))
            return 1 + torch.exp(torch.stack(densities, 1) + self.log_counts)

    def posterior_loss(alpha, label):
        both = alpha.sum(1)
        cross_entropy = torch.digamma(both) - torch.digamma(alpha.gather(1, label[:, None]).squeeze(1))
        return (cross_entropy - 1e-5 * torch.distributions.Beta(alpha[:, 1], alpha[:, 0]).entropy()).mean()

    rows = 64 * BATCH
    numeric = torch.randn(rows, NUMERIC)
    categorical = torch.stack([torch.randint(v, (rows,)) for v in vocabularies], 1) if vocabularies else torch.empty(rows, 0)
    label = (numeric[:, 0] + torch.randn(rows) > 0.8).long()
    network = PosteriorNetwork()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

    def step(at):
        part = slice(at % 64 * BATCH, (at % 64 + 1) * BATCH)
        loss = posterior_loss(network(numeric[part], categorical[part]), label[part])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()

    for at in range(5):
        step(at)
    wall, cpu = time.perf_counter(), time.process_time()
    for at in range(steps):
        step(at)
    train = (steps * BATCH / (time.perf_counter() - wall), steps * BATCH / (time.process_time() - cpu))
    with torch.no_grad():
        wall, cpu = time.perf_counter(), time.process_time()
        for at in range(0, rows, 4096):
            alpha = network(numeric[at : at + 4096], categorical[at : at + 4096])
            torch.distributions.Beta(alpha[:, 1], alpha[:, 0]).entropy()
        predict = (rows / (time.perf_counter() - wall), rows / (time.process_time() - cpu))
    return train + predict


def measure_limen(program, vocabularies, threads, steps):
    command = [program, threads, BATCH, steps, *vocabularies]
    text = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    train, predict = (line.split() for line in text.splitlines())
    return tuple(float(x) for x in train[1:3] + predict[1:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bench/bin/bench_train")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, os.cpu_count()])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| case | threads | | PyTorch rows/s | limen rows/s | ratio | ratio by processor time |")
    print("|---|---|---|---|---|---|---|")
    for name, vocabularies in CASES.items():
        for threads in arguments.threads:
            ours, theirs = [0.0] * 4, [0.0] * 4
            for _ in range(arguments.rounds):
                theirs = [*map(max, theirs, measure_pytorch(vocabularies, threads, max(arguments.steps // 4, 10)))]
                ours = [*map(max, ours, measure_limen(arguments.program, vocabularies, threads, arguments.steps))]
            for verb, at in (("train", 0), ("predict", 2)):
                print(
                    f"| {name} | {threads} | {verb} | {theirs[at]:,.0f} | {ours[at]:,.0f} "
                    f"| {ours[at] / theirs[at]:.1f} | {ours[at + 1] / theirs[at + 1]:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
