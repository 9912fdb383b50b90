#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training and prediction: the fused network beside the plain one of limen and the same network in PyTorch.

Embeddings, an MLP of 128 and 64 with dropout, a latent of 16, 6 radial flows, the Beta loss, Adam, batches of 1024; natpn
or postnet. Each table row is one run of the programs, one after the other, best of several rounds. Rows per second by wall
time, and ratios of the fused network by wall and by processor time, for machines that are busy with other things. The
plain network computes on one thread whatever is asked for.

    bench/training.py [--program build/bench/bin/bench_train] [--threads 1 2] [--steps 200] [--models natpn postnet]
"""
import argparse
import math
import os
import subprocess
import time

NUMERIC = 13
BATCH = 1024
LATENT = 16
CASES = {
    "26 vocabularies, 10 to 100,000, and bins": [int(10 ** (1 + 4 * i / 25)) for i in range(26)] + NUMERIC * [33],
    "26 vocabularies, 10 to 100,000": [int(10 ** (1 + 4 * i / 25)) for i in range(26)],
    "26 vocabularies, 10 to 100": [int(10 ** (1 + i / 25)) for i in range(26)],
    "bins alone": NUMERIC * [33],
    "no categorical features": [],
}


def embedding_width(tokens):
    return min(8, math.ceil(tokens / 4) * 4)


def measure_pytorch(model, vocabularies, threads, steps):
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
            self.embeddings = nn.ModuleList(nn.Embedding(v, w) for v, w in zip(vocabularies, widths, strict=True))
            self.layers = nn.Sequential(
                *(nn.Linear(NUMERIC + sum(widths), 128), nn.ReLU(), nn.Dropout(0.1)),
                *(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, LATENT)),
            )
            stacks = 2 if model == "postnet" else 1
            self.flows = nn.ModuleList(nn.ModuleList(Radial(LATENT) for _ in range(6)) for _ in range(stacks))
            self.logit = nn.Linear(LATENT, 1)
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
                densities.append(total - 0.5 * x.square().sum(1) - LATENT / 2 * math.log(2 * math.pi))
            if model == "postnet":
                return 1 + torch.exp(torch.stack(densities, 1) + self.log_counts)
            evidence = torch.exp(densities[0] + LATENT / 2 * math.log(4 * math.pi))
            logit = nn.functional.linear(z, self.logit.weight.double(), self.logit.bias.double()).squeeze(1)
            return 1 + torch.stack([evidence * torch.sigmoid(-logit), evidence * torch.sigmoid(logit)], 1)

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
    network.eval()
    with torch.no_grad():
        wall, cpu = time.perf_counter(), time.process_time()
        for at in range(0, rows, 4096):
            alpha = network(numeric[at : at + 4096], categorical[at : at + 4096])
            torch.distributions.Beta(alpha[:, 1], alpha[:, 0]).entropy()
        predict = (rows / (time.perf_counter() - wall), rows / (time.process_time() - cpu))
    return train + predict


def measure_limen(program, network, model, vocabularies, threads, steps):
    command = [program, network, model, threads, BATCH, steps, *vocabularies]
    text = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    train, predict = (line.split() for line in text.splitlines())
    return tuple(float(x) for x in train[1:3] + predict[1:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bench/bin/bench_train")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, os.cpu_count()])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="*", default=["natpn"], choices=["natpn", "postnet"])
    parser.add_argument("--cases", type=int, default=len(CASES), help="only the first ones")
    arguments = parser.parse_args()
    columns = ["model", "case", "threads", "", "PyTorch rows/s", "plain rows/s", "fused rows/s"]
    print("|", " | ".join([*columns, "/ PyTorch", "by processor", "/ plain", "by processor"]), "|")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for model in arguments.models:
        for name, vocabularies in list(CASES.items())[: arguments.cases]:
            for threads in arguments.threads:
                # Of PyTorch, plain and fused: train by wall and by processor time, predict by both.
                best = [[0.0] * 4 for _ in range(3)]
                few = max(arguments.steps // 4, 10)
                for _ in range(arguments.rounds):
                    runs = [
                        measure_pytorch(model, vocabularies, threads, few),
                        measure_limen(arguments.program, "plain", model, vocabularies, threads, few),
                        measure_limen(arguments.program, "fused", model, vocabularies, threads, arguments.steps),
                    ]
                    best = [[*map(max, old, new)] for old, new in zip(best, runs, strict=True)]
                pytorch, plain, fused = best
                for verb, at in (("train", 0), ("predict", 2)):
                    ratios = " | ".join(
                        f"{fused[at] / other[at]:.1f} | {fused[at + 1] / other[at + 1]:.1f}" for other in (pytorch, plain)
                    )
                    rates = " | ".join(f"{one[at]:,.0f}" for one in best)
                    print(f"| {model} | {name} | {threads} | {verb} | {rates} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
